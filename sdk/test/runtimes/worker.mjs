// For runtimes that only answer requests.
import input from './input.mjs'
import { smoke } from './smoke.mjs'

export default {
  async fetch() {
    return Response.json(await smoke(input))
  },
}
