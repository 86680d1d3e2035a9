"""How defects are caused in healthy streams, one file a protocol."""
