"""`python -m toprank` is the command `toprank`."""

import sys

from ._command import main

sys.exit(main())
