-- Embeddings of memories and of spoken passages, by the built-in table and by any number of other models,
-- and the text indexes with a second column: what stands around a text.

CREATE TABLE model (
    id       INTEGER PRIMARY KEY,
    name     TEXT NOT NULL UNIQUE,                   -- builtin:xxxxxxxx, or as the server of the model calls it
    dims     INTEGER NOT NULL,
    mean     BLOB NOT NULL,                          -- dims x int16, little-endian: of the unit vectors, times 32768
    chance   REAL NOT NULL,                          -- the mean of its cosines between unrelated sentences
    spread   REAL NOT NULL,                          -- and their standard deviation
    memories INTEGER NOT NULL DEFAULT 0,             -- up to these numbers everything is embedded
    passages INTEGER NOT NULL DEFAULT 0,
    ready    REAL                                    -- when nothing was left to embed for the first time
);

CREATE TABLE vector (
    kind  INTEGER NOT NULL,                          -- 0: of a memory, 1: of a passage
    row   INTEGER NOT NULL,
    model INTEGER NOT NULL REFERENCES model (id) ON DELETE CASCADE,
    block INTEGER NOT NULL,                          -- where its sign bits are
    codes BLOB NOT NULL,                             -- for the exact cosine: see vectors/codes.py
    PRIMARY KEY (kind, row, model)
) WITHOUT ROWID;

CREATE TABLE block (                                 -- sign bits of many vectors, to be looked through at once: see store/blocks.py
    id         INTEGER PRIMARY KEY,
    model      INTEGER NOT NULL REFERENCES model (id) ON DELETE CASCADE,
    kind       INTEGER NOT NULL,
    repository INTEGER NOT NULL,                     -- 0: true for the agent everywhere
    sealed     INTEGER NOT NULL,                     -- 0: row after row, and more may come; 1: column after column
    count      INTEGER NOT NULL,
    rows       BLOB NOT NULL,                        -- count x uint32, little-endian; 0: deleted
    signs      BLOB NOT NULL
);
CREATE INDEX block_by_place ON block (model, kind, repository, sealed);

CREATE INDEX turn_by_talk ON turn (session, thread, id) WHERE kind IN ('prompt', 'reply');  -- what was said beside a turn
CREATE INDEX memory_by_time ON memory (created);
CREATE INDEX memory_revised ON memory (repository) WHERE revision > 1;  -- whose id speaks of an earlier text

-- Filled anew from what is stored, in the same transaction: see store/migrate.py.
DROP TABLE memory_fts;
DROP TABLE turn_fts;
CREATE VIRTUAL TABLE memory_fts USING fts5 (text, about, tokenize = 'porter unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE turn_fts USING fts5 (text, near, content = '', tokenize = 'porter unicode61 remove_diacritics 2');
INSERT INTO memory_fts (memory_fts, rank) VALUES ('rank', 'bm25(1.0, 0.4)');
INSERT INTO turn_fts (turn_fts, rank) VALUES ('rank', 'bm25(1.0, 0.4)');
