"""What the end-to-end tests are made of: a scripted upstream and clients that tell what arrived when."""
