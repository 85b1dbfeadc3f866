"""The proxy between a client and the Messages API: a faithful pipe with one place where a request may be changed."""
