import { startRedis } from '../redis/index.ts'
import { startPostgres } from '../servers/index.ts'
import { startBusyBackend } from './psql.ts'

/** A program that starts engines and never stops them; the test that runs it decides how it ends. */
const [postgres, redis, paused] = await Promise.all([startPostgres(), startRedis(), startRedis()])
const backend = await startBusyBackend(postgres.superuserUrl)
paused.pause()
process.stdout.write(
  `${JSON.stringify({
    pids: [postgres.pid(), redis.pid(), paused.pid(), backend],
    folders: [postgres.dir, redis.dir, paused.dir],
  })}\n`,
)

const ending = process.argv[2]
if (ending === 'exit') process.exit()
if (ending === 'exception') throw new Error('on purpose')
if (ending === 'signal') setInterval(() => {}, 60_000)
