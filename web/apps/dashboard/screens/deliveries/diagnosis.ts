import { deliveries } from '../../strings/deliveries.ts'

const { diagnosis } = deliveries
const plain: Readonly<Record<string, string>> = diagnosis

/** What an outcome means, and what to do next. */
export function diagnosisOf(error: string | null): string {
  if (error === null) return diagnosis.accepted
  const status = Number(/^http_(\d+)$/.exec(error)?.[1])
  if (Number.isNaN(status)) return plain[error] ?? diagnosis.other
  if (status >= 300 && status < 400) return diagnosis.redirect
  if (status === 401 || status === 403) return diagnosis.unauthorised
  if (status === 404 || status === 405 || status === 410) return diagnosis.missing
  if (status === 429) return diagnosis.tooMany
  if (status === 502 || status === 503 || status === 504) return diagnosis.gateway
  if (status >= 500) return diagnosis.broken
  return status >= 400 ? diagnosis.refused : diagnosis.other
}

/** As short as a code: `timeout`, `tls`. */
export const errorWord = (error: string): string => deliveries.error[error] ?? error.replace(/^http_/, '')

const reasons: Readonly<Record<number, string>> = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  204: 'No Content',
  301: 'Moved Permanently',
  302: 'Found',
  307: 'Temporary Redirect',
  308: 'Permanent Redirect',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  410: 'Gone',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Content',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
}

export const statusLine = (status: number): string => `HTTP/1.1 ${status} ${reasons[status] ?? ''}`.trimEnd()
