"""llama.cpp in this process, through ctypes on its public C API."""
