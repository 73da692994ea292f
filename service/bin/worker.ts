#!/usr/bin/env node
import { plan, runProgram } from '../src/programs/run-program.ts'
import { startingConfig } from '../src/programs/wiring.ts'
import { createWorker } from '../src/programs/worker-program.ts'

const config = startingConfig()
await runProgram('worker', config, [plan('worker', config, createWorker)])
