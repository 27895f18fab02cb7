"""`python -m untemplate`."""

from untemplate.cli import main

main()
