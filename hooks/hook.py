"""The one entry of every hook event: finds the library, or a Python that can run it, and never fails its host.

This file is compiled anew at each start and may be read by any Python there is, so it is short and plain.
"""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def main():
    if os.environ.get("TENON_DISABLE") or os.environ.get("TENON_INSIDE"):
        return
    if sys.version_info < (3, 9):
        other_python()
        return
    sys.path[:0] = [ROOT, os.path.join(ROOT, "scripts")]
    if not os.access(ROOT, os.W_OK):  # compiled modules go where they can be kept
        sys.pycache_prefix = os.path.join(os.environ.get("TENON_HOME") or os.path.expanduser("~/.tenon"), "cache")
    import gc

    gc.disable()  # the process is gone before there is anything to collect
    from hooks import door

    door.answer()


def other_python():
    """Hands the event to a newer Python on the PATH, or says once a session that there is none."""
    for name in ["python3.%d" % minor for minor in range(20, 8, -1)]:
        for folder in os.environ.get("PATH", "").split(os.pathsep):
            path = os.path.join(folder, name)
            if os.access(path, os.X_OK) and os.path.isfile(path):
                os.execv(path, [path, "-I", "-S", os.path.abspath(__file__)])
    if '"SessionStart"' in sys.stdin.read():
        version = "%d.%d" % sys.version_info[:2]
        print('{"systemMessage": "Tenon needs Python 3.9 or newer as python3; this one is %s, so nothing is remembered."}' % version)


if __name__ == "__main__":
    try:
        main()
    except Exception:  # the last line of defence: a hook that cannot even start is silent, and doctor says why
        pass
    sys.stdout.flush()
    os._exit(0)  # at once: nothing at exit may cost time or fail, and an open store is safe to leave
