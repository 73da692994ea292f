/**
 * Loaded into every process that the test kit starts, before its own code: the process ends when the pipe from its parent
 * closes, however the parent ended. A signal handler in the parent could not do that for a kill -9.
 */
process.stdin.on('end', () => process.kill(process.pid, 'SIGKILL')).on('error', () => {})
process.stdin.resume()
process.stdin.unref()
