#!/usr/bin/env node
import { loadDashboardConfig } from '../src/config/config.ts'
import { createDashboard } from '../src/programs/dashboard-program.ts'
import { plan, runProgram } from '../src/programs/run-program.ts'
import { startingConfig } from '../src/programs/wiring.ts'

const config = startingConfig(loadDashboardConfig)
await runProgram('dashboard', config, [plan('dashboard', config, createDashboard)])
