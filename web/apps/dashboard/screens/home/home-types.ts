import type { Reply } from '../../api/client.ts'

export type HomeData = Reply<'getHome'>
