/** A visitor of the dashboard without a browser: cookies, the token against forged requests, and the headers that browsers add. */
export function createVisitor(port: number, origin: string) {
  const cookies = new Map<string, string>()
  const headers = () => ({
    host: new URL(origin).host,
    origin,
    'sec-fetch-site': 'same-origin',
    cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
  })
  const keep = (response: Response) => {
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      cookies.set(name, value)
    }
    return response
  }
  return {
    cookies: (): readonly string[] => [...cookies.values()],
    /** Status and text of the answer to a POST with a fresh token, in the account of the session. */
    async post(path: string, body: object): Promise<{ status: number; text: string }> {
      const url = (where: string) => `http://127.0.0.1:${port}${where}`
      const session = keep(await fetch(url('/api/session'), { headers: headers() }))
      const { csrf_token, account } = (await session.json()) as {
        csrf_token: string
        account: { id: string } | null
      }
      const response = keep(
        await fetch(url(path), {
          method: 'POST',
          headers: {
            ...headers(),
            'content-type': 'application/json',
            'x-shopwire-csrf': csrf_token,
            ...(account && { 'x-shopwire-account': account.id }),
          },
          body: JSON.stringify(body),
        }),
      )
      return { status: response.status, text: await response.text() }
    },
  }
}
