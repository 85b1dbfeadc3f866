"""Other memories and indexes on the same data, in the same run: for development, none of it is needed to use Tenon."""
