"""What fits into a context, and what a call that did not fit is worth."""
