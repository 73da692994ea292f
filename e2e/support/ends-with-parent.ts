/**
 * Loaded into every program under test before its own code: it ends when the pipe from the test run closes, however the
 * test run ended. No signal handler over there could do that for a kill -9.
 */
process.stdin.on('end', () => process.kill(process.pid, 'SIGKILL')).on('error', () => {})
process.stdin.resume()
process.stdin.unref()
