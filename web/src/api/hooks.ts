import {
  keepPreviousData,
  type UseQueryResult,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import { showDone, showFailure } from '../components/feedback/toasts.tsx'
import { type ActName, api, type Body, type ReadInput, type ReadName, type Reply } from './client.ts'
import type { Topic } from './live.ts'

interface ReadOptions {
  /** Read again when the service hints at a change of one of these. */
  readonly live?: readonly Topic[]
  /** Keep showing the last page while the next one loads. For lists. */
  readonly keepPrevious?: boolean
  readonly enabled?: boolean
  readonly refetchEveryMs?: number
}

/** One read of the API, cached under [name, input]. */
export function useRead<Name extends ReadName>(
  name: Name,
  input?: ReadInput<Name>,
  { live = [], keepPrevious = false, enabled = true, refetchEveryMs }: ReadOptions = {},
): UseQueryResult<Reply<Name>> {
  return useQuery<Reply<Name>>({
    queryKey: [name, input ?? {}],
    queryFn: ({ signal }) => api.read(name, input, signal),
    meta: { live },
    enabled,
    ...(keepPrevious ? { placeholderData: keepPreviousData } : {}),
    ...(refetchEveryMs ? { refetchInterval: refetchEveryMs } : {}),
  })
}

interface ActOptions<Name extends ActName> {
  /** Reads that show something else afterwards. */
  readonly refresh?: readonly ReadName[]
  readonly onDone?: (reply: Reply<Name>, body: Body<Name>) => void
  /** What the toast says: what happened, and its consequence. */
  readonly done?: (reply: Reply<Name>, body: Body<Name>) => readonly [title: string, consequence?: string]
  /** What did not happen: the title of the toast when it fails. Null: the caller shows the error itself. */
  readonly failed: string | null
}

/** One action: runs it, refreshes what it changed, and says what happened. */
export function useAct<Name extends ActName>(name: Name, options: ActOptions<Name>) {
  const client = useQueryClient()
  return useMutation<Reply<Name>, Error, Body<Name>>({
    mutationFn: (body) => api.act(name, body),
    onSuccess: (reply, body) => {
      for (const read of options.refresh ?? []) void client.invalidateQueries({ queryKey: [read] })
      const said = options.done?.(reply, body)
      if (said) showDone(said[0], said[1])
      options.onDone?.(reply, body)
    },
    onError: (error) => {
      if (options.failed !== null) showFailure(options.failed, error)
    },
  })
}
