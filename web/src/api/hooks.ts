import {
  keepPreviousData,
  type UseQueryResult,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import { showDone, showFailure } from '../components/feedback/toasts.tsx'
import { type ActName, api, type Body, type ReadInput, type ReadName, type Reply } from './client.ts'
import { RequestError } from './request-error.ts'

interface ReadOptions<Name extends ReadName> {
  /** Keep showing the last page while the next one loads. For lists. */
  readonly keepPrevious?: boolean
  readonly enabled?: boolean
  /** A function says for how long: with what the last reply was, and how many there were. */
  readonly refetchEveryMs?: number | ((reply: Reply<Name> | undefined, replies: number) => number | undefined)
}

/** One read of the API, cached under [name, input]. What the service hints at is read again by itself: see live.ts. */
export function useRead<Name extends ReadName>(
  name: Name,
  input?: ReadInput<Name>,
  { keepPrevious = false, enabled = true, refetchEveryMs }: ReadOptions<Name> = {},
): UseQueryResult<Reply<Name>> {
  return useQuery<Reply<Name>>({
    queryKey: [name, input ?? {}],
    queryFn: ({ signal }) => api.read(name, input, signal),
    enabled,
    ...(keepPrevious ? { placeholderData: keepPreviousData } : {}),
    refetchInterval: ({ state: { data, error, dataUpdateCount } }) => {
      if (isRefused(error)) return false
      const everyMs =
        typeof refetchEveryMs === 'function' ? refetchEveryMs(data, dataUpdateCount) : refetchEveryMs
      return everyMs ?? false
    },
  })
}

/** The same question gets the same answer. */
const isRefused = (error: unknown) =>
  error instanceof RequestError && error.status >= 400 && error.status < 500 && error.status !== 429

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
