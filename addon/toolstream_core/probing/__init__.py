"""Asks one provider the same with and without a stream, and says where the calls differ: the evidence against it."""
