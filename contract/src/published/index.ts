// The contract as other people's tools read it. A door of its own, `@shopwire/contract/published`.
export type { Json } from './components.ts'
export { examples } from './examples.ts'
export { openApiDocument, openApiText } from './openapi.ts'
export { postmanText } from './postman.ts'
