import type { BodyOf, ReplyOf } from '@shopwire/contract/dashboard'
import {
  keepPreviousData,
  type UseMutationResult,
  type UseQueryResult,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import { showDone, showFailure } from '#kit/components/feedback/toasts.tsx'
import { words } from '#kit/words.ts'
import { RequestError } from '#lib/request-error.ts'
import type { ActNameOf, Client, InputOf, ReadNameOf, RouteTable } from './client.ts'

interface ReadOptions<Reply> {
  /** Keep showing the last page while the next one loads. For lists. */
  readonly keepPrevious?: boolean
  readonly enabled?: boolean
  /** A function says for how long: with what the last reply was, and how many there were. */
  readonly refetchEveryMs?: number | ((reply: Reply | undefined, replies: number) => number | undefined)
}

interface ActOptions<ReadName, Reply, Body> {
  /** Reads that show something else afterwards. */
  readonly refresh?: readonly ReadName[]
  readonly onDone?: (reply: Reply, body: Body) => void
  /** What the toast says: what happened, and its consequence. */
  readonly done?: (reply: Reply, body: Body) => readonly [title: string, consequence?: string]
  /** What the toast offers: the opposite action, where there is one that is safe. Undefined: not this time. */
  readonly undo?: (reply: Reply, body: Body) => (() => Promise<unknown>) | undefined
  /** What did not happen: the title of the toast when it fails. Null: the caller shows the error itself. */
  readonly failed: string | null
}

/** The hooks of one application's routes. */
export function createHooks<Table extends RouteTable>(api: Client<Table>) {
  type Reply<Name extends keyof Table> = ReplyOf<Table[Name]>
  type Body<Name extends keyof Table> = BodyOf<Table[Name]>
  type ReadName = ReadNameOf<Table>

  /** One read of the API, cached under [name, input]. What the service hints at is read again by itself: see live.ts. */
  function useRead<Name extends ReadName>(
    name: Name,
    input?: InputOf<Table[Name]>,
    { keepPrevious = false, enabled = true, refetchEveryMs }: ReadOptions<Reply<Name>> = {},
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

  /** One action: runs it, refreshes what it changed, and says what happened. */
  function useAct<Name extends ActNameOf<Table>>(
    name: Name,
    options: ActOptions<ReadName, Reply<Name>, Body<Name>>,
  ): UseMutationResult<Reply<Name>, Error, Body<Name>> {
    const client = useQueryClient()
    return useMutation<Reply<Name>, Error, Body<Name>>({
      mutationFn: (body) => api.act(name, body),
      onSuccess: (reply, body) => {
        const refresh = () => {
          for (const read of options.refresh ?? []) void client.invalidateQueries({ queryKey: [read] })
        }
        refresh()
        const said = options.done?.(reply, body)
        const undo = options.undo?.(reply, body)
        if (said) showDone(said[0], said[1], undo && (() => void undoWith(undo, refresh)))
        options.onDone?.(reply, body)
      },
      onError: (error) => {
        if (options.failed !== null) showFailure(options.failed, error)
      },
    })
  }

  return { useRead, useAct }
}

async function undoWith(undo: () => Promise<unknown>, refresh: () => void): Promise<void> {
  try {
    await undo()
    showDone(words.undone)
  } catch (error) {
    showFailure(words.notUndone, error)
  }
  refresh()
}

/** The same question gets the same answer. */
const isRefused = (error: unknown) =>
  error instanceof RequestError && error.status >= 400 && error.status < 500 && error.status !== 429
