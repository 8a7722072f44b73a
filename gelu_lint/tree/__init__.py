"""The only package that imports LibCST: text → module, a walk over it, its names, and where its nodes lie."""
