-- What was considered and left out, what the API counted, what the proxy took of a request's time, how the store grows.
-- Numbers and ids alone; no text stands here.

ALTER TABLE journal ADD COLUMN skipped TEXT NOT NULL DEFAULT '';  -- one line a near miss: ref, then why, score and parts packed (store/journal.py)

CREATE TABLE usage (                                 -- what the API counted for one message of a model, as the transcript reports it
    message INTEGER PRIMARY KEY,                     -- eight bytes of a hash of the API's id: a transcript read twice counts once
    session INTEGER NOT NULL REFERENCES session (id),
    at      INTEGER NOT NULL,
    aside   INTEGER NOT NULL,                        -- 1: it was a sub-agent's
    input   INTEGER NOT NULL,                        -- tokens, without those of the prompt cache
    written INTEGER NOT NULL,                        -- to the prompt cache
    read    INTEGER NOT NULL,                        -- from it
    output  INTEGER NOT NULL
);
CREATE INDEX usage_by_session ON usage (session, at);
CREATE INDEX session_by_last ON session (last);

CREATE TABLE growth (                                -- one row a day, kept for good
    day      INTEGER PRIMARY KEY,                    -- since 1970, UTC
    bytes    INTEGER NOT NULL,
    memories INTEGER NOT NULL,                       -- live ones
    turns    INTEGER NOT NULL
);

CREATE TABLE latency (                               -- how many requests of a day the proxy held up for about so long
    day   INTEGER NOT NULL,
    step  INTEGER NOT NULL,                          -- an eighth of an octave of microseconds: see store/latency.py
    count INTEGER NOT NULL,
    PRIMARY KEY (day, step)
) WITHOUT ROWID;
