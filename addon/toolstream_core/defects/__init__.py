"""What can be wrong with a stream: one row a defect."""
