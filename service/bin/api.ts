#!/usr/bin/env node
import { createApi } from '../src/programs/api-program.ts'
import { plan, runProgram } from '../src/programs/run-program.ts'
import { startingConfig } from '../src/programs/wiring.ts'

const config = startingConfig()
await runProgram('api', config, [plan('api', config, createApi)])
