import type { Reply } from '../../api/client.ts'

export type NewToken = Reply<'createToken'>
