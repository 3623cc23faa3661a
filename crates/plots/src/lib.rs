//! **How does it look?** Numbers to SVG and PNG, behind a small interface of our own.
