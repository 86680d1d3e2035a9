"""How each protocol's streams are judged and mended, one file a protocol."""
