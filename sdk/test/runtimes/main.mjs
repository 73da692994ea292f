// For runtimes that run a file and print.

import input from './input.mjs'
import { smoke } from './smoke.mjs'

// biome-ignore lint/suspicious/noConsole: the one way to print that all of them have
console.log(JSON.stringify(await smoke(input)))
