"""Client models: how clients reassemble calls, which model explains a client, and what helps it."""
