"""The wire texts that flows/ is made from."""
