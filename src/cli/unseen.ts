#!/usr/bin/env node
import { runCommandLine } from './command-line.js';

// Awaited at the top level, so that Node exits with 13 instead of 0 if the promise never settles.
await runCommandLine();
