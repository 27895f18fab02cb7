"""The face of the library: `ChatTemplate` and `Turn`."""
