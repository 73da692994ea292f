/** What this example uses of Bun. A project of yours has `@types/bun` instead. */
declare const Bun: {
  serve(options: {
    port: number
    routes: Record<string, (request: Request) => Promise<Response>>
    fetch: (request: Request) => Response
  }): unknown
}
