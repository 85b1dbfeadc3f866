-- What the proxy has decided for each conversation, so that it sends the same bytes again after a restart.
-- Plain text, so that forgetting finds words in it. Text has passed redaction before it comes here.

CREATE TABLE conversation (                          -- a session of Claude Code, or one growing list of messages of another client
    id         INTEGER PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,                 -- the client's own id of the session, or one that the proxy gave
    client     TEXT NOT NULL,
    folder     TEXT NOT NULL,
    repository INTEGER REFERENCES repository (id),
    began      REAL NOT NULL,
    last       REAL NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('announced', 'traced', 'plain', 'bypassed')),
    reason     TEXT NOT NULL,                        -- of the state
    requests   INTEGER NOT NULL DEFAULT 0,
    tokens     INTEGER NOT NULL DEFAULT 0,           -- of the latest request, as the API counted them
    text_bytes INTEGER NOT NULL DEFAULT 0,           -- of the same request
    per_token  REAL NOT NULL DEFAULT 0,              -- bytes of text a token; 0: not measured yet
    compacting TEXT NOT NULL DEFAULT ''              -- the identity of what was sent when the client asked for a summary of it
);
CREATE INDEX conversation_by_last ON conversation (last);
CREATE INDEX conversation_by_repository ON conversation (repository) WHERE repository IS NOT NULL;

CREATE TABLE piece (                                 -- messages that stand in a prefix; a number is never used twice
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    hash    TEXT NOT NULL UNIQUE,                    -- of the content
    tokens  INTEGER NOT NULL,                        -- estimated
    images  INTEGER NOT NULL,
    sizes   TEXT NOT NULL,                           -- the characters of each message, so that none needs to be parsed
    content TEXT NOT NULL                            -- JSON: the list of the messages
);

CREATE TABLE epoch (                                 -- from one boundary to the next the prefix is the same
    conversation INTEGER NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
    number       INTEGER NOT NULL,
    at           REAL NOT NULL,
    why          TEXT NOT NULL,
    skip         INTEGER NOT NULL,                   -- so many of the client's messages does the prefix stand for
    anchor       TEXT NOT NULL,                      -- the identity of those messages
    strip        INTEGER NOT NULL,                   -- thinking in the client's messages before this one is left out
    PRIMARY KEY (conversation, number)
) WITHOUT ROWID;

CREATE TABLE epoch_piece (
    conversation INTEGER NOT NULL,
    number       INTEGER NOT NULL,
    place        INTEGER NOT NULL,
    piece        INTEGER NOT NULL,                   -- may be gone: it was forgotten
    PRIMARY KEY (conversation, number, place),
    FOREIGN KEY (conversation, number) REFERENCES epoch (conversation, number) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX epoch_piece_by_piece ON epoch_piece (piece);

CREATE TABLE sent (                                  -- the client's messages as they came last, so that its compaction can be undone
    conversation INTEGER NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
    place        INTEGER NOT NULL,
    digest       TEXT NOT NULL,                      -- the identity of the message as it came
    content      TEXT NOT NULL,                      -- JSON: the message as it is kept
    PRIMARY KEY (conversation, place)
);
CREATE INDEX sent_by_place ON sent (conversation, place, digest);
CREATE INDEX sent_by_digest ON sent (digest, conversation, place);

CREATE TABLE addition (                              -- what the proxy itself put into a client's message, to be put there again
    conversation INTEGER NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
    digest       TEXT NOT NULL,                      -- the identity of the message without it
    ordinal      INTEGER NOT NULL,                   -- which of the messages with that digest, from 0
    place        INTEGER NOT NULL,                   -- among the message's blocks
    content      TEXT NOT NULL,                      -- the text of the block
    PRIMARY KEY (conversation, digest, ordinal)
);
