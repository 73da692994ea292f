// The contract as OpenAPI and Postman documents. Exported as `@shopwire/contract/published`.
export type { Json } from './components.ts'
export { examples } from './examples.ts'
export { openApiDocument, openApiText } from './openapi.ts'
export { postmanText } from './postman.ts'
