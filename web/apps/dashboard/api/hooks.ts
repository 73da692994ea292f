import { createHooks } from '#client/hooks.ts'
import { api, type Table } from './client.ts'

export const { useRead, useAct } = createHooks<Table>(api)
