/** What this example uses of Deno, for checkers that are not Deno's own. */
declare const Deno: {
  env: { get(name: string): string | undefined }
  serve(
    options: { port: number; onListen: () => void },
    handler: (request: Request) => Promise<Response>,
  ): unknown
}
