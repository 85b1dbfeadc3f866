-- What the digest makes of the archive, what it cost, and how it is undone. No text of a memory stands here but in gist;
-- undo data are numbers, so that forgetting has nothing to look for in it.

ALTER TABLE memory ADD COLUMN writer TEXT NOT NULL DEFAULT '' CHECK (writer IN ('', 'user', 'model', 'code', 'digest'));
                                                     -- user: by their own command, or confirmed; model: with a tool; code: spotted without one; '': not noted yet

ALTER TABLE summary ADD COLUMN writer TEXT NOT NULL DEFAULT 'code' CHECK (writer IN ('code', 'digest'));

CREATE INDEX turn_said ON turn (repository, id, at, tokens) WHERE thread = '' AND kind IN ('prompt', 'reply') AND forgotten IS NULL;

CREATE TABLE association (                           -- undirected: memories that come up together
    a        INTEGER NOT NULL REFERENCES memory (id) ON DELETE CASCADE,
    b        INTEGER NOT NULL REFERENCES memory (id) ON DELETE CASCADE,
    strength REAL NOT NULL CHECK (strength >= 0 AND strength <= 1),
    count    INTEGER NOT NULL DEFAULT 1,             -- how often they did
    since    REAL NOT NULL,                          -- strength is as of this time
    PRIMARY KEY (a, b),
    CHECK (a < b)
) WITHOUT ROWID;
CREATE INDEX association_by_b ON association (b);
CREATE INDEX association_strong_a ON association (a, strength, b, since) WHERE strength >= 0.5;  -- what recall follows
CREATE INDEX association_strong_b ON association (b, strength, a, since) WHERE strength >= 0.5;
CREATE INDEX memory_by_successor ON memory (successor) WHERE successor IS NOT NULL;

CREATE TABLE spotted (                               -- how far plain code has looked through a session
    session INTEGER PRIMARY KEY REFERENCES session (id),
    turn    INTEGER NOT NULL
);

CREATE TABLE reading (                               -- a turn longer than a batch, of which a digest has read so many characters
    turn  INTEGER PRIMARY KEY REFERENCES turn (id),
    chars INTEGER NOT NULL
);

CREATE TABLE gist (                                  -- an exchange in a sentence or two, by its prompt
    turn   INTEGER PRIMARY KEY REFERENCES turn (id),
    text   TEXT NOT NULL,
    digest INTEGER NOT NULL
);

CREATE TABLE digest (                                -- one batch of one run, or what plain code spotted in one step
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    at         REAL NOT NULL,
    ended      REAL,                                 -- NULL: it is at it, or was killed at it
    phase      TEXT NOT NULL CHECK (phase IN ('spotting', 'session', 'consolidation', 'reflection')),
    repository INTEGER REFERENCES repository (id),   -- NULL: of the agent
    runner     TEXT NOT NULL,                        -- claude, api, ollama; code: no model; session: the model at hand
    model      TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('running', 'applied', 'failed', 'undone')),
    why        TEXT NOT NULL DEFAULT '',             -- of a failure: a sentence of ours, never the model's words
    turns      INTEGER NOT NULL DEFAULT 0,           -- archived turns that it read
    tokens     INTEGER NOT NULL DEFAULT 0,           -- of those, as estimated when they were archived
    first      INTEGER                               -- the first of them, by which a batch that fails again is known
);

CREATE TABLE step (                                  -- what a digest did, in order; undone from the last to the first
    digest INTEGER NOT NULL REFERENCES digest (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    deed   TEXT NOT NULL,
    memory INTEGER REFERENCES memory (id) ON DELETE SET NULL,
    other  INTEGER REFERENCES memory (id) ON DELETE SET NULL,
    undo   TEXT NOT NULL DEFAULT '{}',               -- JSON: names and numbers
    note   TEXT NOT NULL DEFAULT '',                 -- why it was refused
    PRIMARY KEY (digest, number)
) WITHOUT ROWID;
CREATE INDEX step_by_memory ON step (memory) WHERE memory IS NOT NULL;

CREATE TABLE spending (                              -- one row a request to a model; written before it is made, with what it may cost at most
    id       INTEGER PRIMARY KEY,
    at       REAL NOT NULL,
    purpose  TEXT NOT NULL CHECK (purpose IN ('consolidation', 'reflection', 'selection')),
    digest   INTEGER,
    runner   TEXT NOT NULL,
    model    TEXT NOT NULL,
    reserved INTEGER NOT NULL,                       -- tokens that it may take
    reported INTEGER NOT NULL DEFAULT 0,             -- whether what follows was reported
    input    INTEGER NOT NULL DEFAULT 0,             -- tokens, without those of the prompt cache
    written  INTEGER NOT NULL DEFAULT 0,             -- to the prompt cache
    read     INTEGER NOT NULL DEFAULT 0,             -- from it
    output   INTEGER NOT NULL DEFAULT 0,
    dollars  REAL                                    -- as the runner reported it; NULL when it did not
);
CREATE INDEX spending_by_time ON spending (at);

CREATE TABLE selection (                             -- what a small model chose for a session's next prompt
    session TEXT PRIMARY KEY,
    refs    TEXT NOT NULL,                           -- of memories and turns, best first
    at      REAL NOT NULL
) WITHOUT ROWID;
