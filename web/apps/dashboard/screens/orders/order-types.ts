import type { Reply } from '../../api/client.ts'

export type OrderDetail = Reply<'getOrder'>
