"""The wire form: what Tenon sends upstream in place of a client's list of messages. Pure: bytes and dictionaries in and out.

A client of the Messages API sends its whole conversation with every request:

    {"model": …, "system": …, "tools": […], "messages": [m0, m1, m2, …, mN], …}

Tenon puts something in front, and after a boundary something in place of the first `skip` messages. Nothing else:

    wire = prefix ++ the client's own messages from `skip` on

    start of a session        skip 0    [past sessions] m0 m1 m2 …
    the client compacted      skip 1    [past sessions] [what it had sent before] · (its summary S is not sent) m1 m2 …
    the budget was reached    skip 40   [one line that says what left] [the newest exchanges] · m40 m41 …

Four rules hold it together.

1. Only the list is touched. `splice` copies slices of the request and prints nothing again: order of keys, escapes, spacing,
   unknown fields and kinds of blocks stay the client's, because the prompt cache goes by bytes and a signature by content.
2. What was sent once is sent for ever. Thinking blocks are signed for all that stood before them and the cache holds what is
   unchanged, so prefix and `skip` change at a boundary only; between two of them a request's wire form begins with the last one's.
3. The same message is known by its `digest`, since a client prints an old message differently later: a string where a list of
   blocks was, the cache marker gone. The digest looks past exactly what the API looks past.
4. In doubt nothing is done. `parse` raises Unreadable for what is not plainly a request, and the caller relays the bytes.

From the bottom up:

    spans       where the members of an object and the elements of a list are, as byte offsets
    route       which requests are conversations at all
    body        a request: its fields and messages and where each stands
    identity    the digest of a message, the anchor of many
    edit        the list cut and joined; a message with a marker, without markers, without thinking, with a text more
    stream      the answer, rebuilt from its events while it passes
    blocks      calls and their results, prompts, system entries: the order that the API wants
    picture     how large an image is
    telling     one past exchange as messages
    trace       past sessions as messages
    compaction  the client's own compaction, recognised and undone
    budget      how much fits, and what leaves when it does not
"""
