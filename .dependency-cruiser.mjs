/** The workspace table and the service's layers, as ARCHITECTURE.md draws them. Each message says what to do instead. */

const LAYERS = [
  ['platform'],
  ['ledger', 'webhooks'],
  ['accounts', 'catalogue'],
  ['quotes', 'supply', 'funding'],
  ['access', 'orders', 'sessions'],
  ['operations', 'dashboard'],
  ['edge', 'admin', 'backup'],
]

/** folder → the workspaces of ours it may import, besides itself. */
const WORKSPACES = {
  contract: [],
  docs: ['contract'],
  'test-kit': ['contract'],
  service: ['contract'],
  sdk: ['contract'],
  cli: ['contract', 'sdk', 'emulator'],
  emulator: ['contract', 'test-kit', 'service'],
  examples: ['sdk'],
  tests: ['contract', 'test-kit', 'conformance', 'bench', 'sdk', 'emulator', 'cli'],
  conformance: ['test-kit'],
  bench: ['contract', 'test-kit'],
  tools: ['contract', 'look', 'test-kit', 'sdk', 'service'],
  look: [],
  web: ['contract', 'look'],
}

/** folder of test-kit/ → those of its folders it may import. */
const TEST_KIT = {
  servers: [],
  redis: ['servers'],
  clocks: [],
  requests: [],
  invariants: [],
  systems: ['servers', 'redis', 'requests'],
  pages: ['servers', 'systems'],
  proxies: ['servers', 'systems', 'pages', 'receivers'],
  receivers: ['servers', 'systems', 'invariants', 'proxies'],
  people: ['servers', 'systems', 'requests', 'invariants', 'proxies', 'receivers'],
  shops: ['servers', 'systems', 'requests', 'invariants', 'pages', 'proxies', 'receivers', 'people'],
}

const layerOf = (folder) => LAYERS.findIndex((folders) => folders.includes(folder))
const inService = (folders) => `^service/src/(${folders.join('|')})/`

const layers = LAYERS.flat().map((folder) => {
  const forbidden = LAYERS.flat().filter((other) => other !== folder && layerOf(other) >= layerOf(folder))
  return {
    name: `layer-${folder}`,
    severity: 'error',
    comment:
      `${folder}/ is in layer ${layerOf(folder) + 1} and imports only from the layers below it. Move the shared part down a layer, ` +
      'or pass it in as an argument from the layer above.',
    from: { path: `^service/src/${folder}/` },
    to: { path: inService(forbidden) },
  }
})

const workspaces = Object.entries(WORKSPACES).map(([folder, allowed]) => {
  const others = Object.keys(WORKSPACES).filter((other) => other !== folder && !allowed.includes(other))
  return {
    name: `workspace-${folder}`,
    severity: 'error',
    comment:
      `${folder}/ may import ${allowed.length > 0 ? allowed.join(' and ') : 'no other workspace'}. ` +
      'Run the other part as a process, or move what both need into contract/.',
    from: {
      path: `^${folder}/`,
      // Tests may start what the shipped code may not know: private servers, an emulator, a client.
      pathNot: `^${folder}/(test|testing)/`,
    },
    to: { path: `^(${others.join('|')})/` },
  }
})

const testKit = Object.entries(TEST_KIT).map(([folder, allowed]) => {
  const others = Object.keys(TEST_KIT).filter((other) => other !== folder && !allowed.includes(other))
  return {
    name: `test-kit-${folder}`,
    severity: 'error',
    comment:
      `test-kit/${folder}/ may import ${allowed.length > 0 ? allowed.join(' and ') : 'no other folder of the kit'}. ` +
      'Move the shared part into a folder that both may import.',
    from: { path: `^test-kit/${folder}/` },
    to: { path: `^test-kit/(${others.join('|')})/` },
  }
})

export default {
  forbidden: [
    ...layers,
    ...workspaces,
    ...testKit,
    {
      name: 'servers-stand-alone',
      severity: 'error',
      comment: 'The emulator is published with test-kit/servers/. It may need Node and nothing else.',
      from: { path: '^test-kit/servers/' },
      to: { pathNot: '^test-kit/servers/', dependencyTypesNot: ['core'] },
    },
    {
      name: 'only-tests-start-more-than-servers',
      severity: 'error',
      comment:
        'The emulator and tools/ start private servers by @shopwire/test-kit/servers and /redis. The rest of the kit is for tests and benchmarks.',
      from: { path: '^(emulator|tools)/', pathNot: '^(emulator|tools)/test/' },
      to: { path: '^test-kit/', pathNot: '^test-kit/(servers|redis)/' },
    },
    {
      name: 'no-circles',
      severity: 'error',
      comment:
        'Two modules that need each other are one module, or a third thing is waiting to be named. Split it out.',
      from: {},
      to: { circular: true },
    },
    {
      name: 'config-is-wired-in',
      severity: 'error',
      comment:
        'Only bin/ and programs/ read the configuration or put parts together. Take what you need as an argument.',
      from: { path: '^service/src/', pathNot: '^service/src/(programs|config)/' },
      to: { path: '^service/src/(programs|config)/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'embedded-is-for-the-emulator',
      severity: 'error',
      comment:
        'Through embedded.ts a store can be put together that a real one must never be. Nothing of the service itself goes through it.',
      from: { path: '^service/' },
      to: { path: '^service/src/programs/embedded\\.ts$' },
    },
    {
      name: 'development-is-for-npm-run-dev',
      severity: 'error',
      comment:
        'service/development/ signs in without a password and writes a past that never was. No program of the service may contain it.',
      from: { pathNot: '^(service/(development|test)|tools)/' },
      to: { path: '^service/development/' },
    },
    {
      name: 'tools-use-the-service-through-development',
      severity: 'error',
      comment: 'tools/ runs the service as a process, or uses @shopwire/service/past-store and dev-access.',
      from: { path: '^tools/' },
      to: { path: '^service/(src|bin|testing)/' },
    },
    {
      name: 'cli-meets-the-emulator-as-a-process',
      severity: 'error',
      comment:
        'The command line asks an emulator over HTTP and shares the types of its answers, nothing else: it is published without one.',
      from: { path: '^cli/(src|bin)/' },
      to: { path: '^emulator/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'web-imports-downward',
      severity: 'error',
      comment:
        'In web/, lib < kit < client < apps. Move the shared part down, or hand it over as a property.',
      from: { path: '^web/(lib|kit|client)/' },
      to: { path: '^web/apps/' },
    },
    {
      name: 'web-kit-knows-no-client',
      severity: 'error',
      comment: 'Components take what they show as properties; the screens of an application read it.',
      from: { path: '^web/(lib|kit)/' },
      to: { path: '^web/client/' },
    },
    {
      name: 'web-lib-is-the-lowest',
      severity: 'error',
      comment: 'web/lib/ has no component in it.',
      from: { path: '^web/lib/' },
      to: { path: '^web/kit/' },
    },
    {
      name: 'web-applications-are-separate',
      severity: 'error',
      comment: 'No application of web/ imports another one. What both need goes to kit/ or features/.',
      from: { path: '^web/apps/([^/]+)/' },
      to: { path: '^web/apps/', pathNot: '^web/apps/$1/' },
    },
    {
      name: 'web-takes-types-only',
      severity: 'error',
      comment:
        'A browser gets the types of the contract, never its schemas: they would bring a schema library into the first load. Have ' +
        'tools/web-routes.ts write the value you need into web/apps/dashboard/api/routes.generated.ts.',
      from: { path: '^web/(apps|client|kit|lib)/' },
      to: { path: '^contract/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'commands-go-through-operations',
      severity: 'error',
      comment:
        'A command parses its arguments, calls operations/ and prints. Add the read to operations/reads/, or the action to one of its ' +
        '*-actions.ts files; then the browser console has it too. Types may be imported, and the format of a catalogue file: it touches no data.',
      from: { path: '^service/src/admin/' },
      to: {
        path: '^service/src/',
        pathNot: '^service/src/((admin|operations|platform)/|catalogue/file/)',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'commands-hold-no-database',
      severity: 'error',
      comment:
        'admin/ never sees a connection, not even its type: a statement there would run without an actor and an audit record. ' +
        'Put it into operations/ and call it through CommandContext.',
      from: { path: '^service/src/admin/' },
      to: { path: '^service/src/platform/database/db\\.ts$' },
    },
    {
      name: 'edge-is-given-its-families',
      severity: 'error',
      comment:
        'The files directly in edge/ serve every route family and know none of them. Put what one family needs into its folder, and give ' +
        'it to createEdge in the list of families (api-program.ts).',
      from: { path: '^service/src/edge/[^/]+\\.ts$' },
      to: { path: '^service/src/edge/[^/]+/' },
    },
    {
      name: 'route-families-are-separate',
      severity: 'error',
      comment:
        'A route family imports the shared part of edge/ and the endpoints, never another family: one must not come to depend on how the ' +
        'other authenticates. Move what both need up into edge/.',
      from: { path: '^service/src/edge/([^/]+)/' },
      to: { path: '^service/src/edge/[^/]+/', pathNot: '^service/src/edge/($1|endpoints)/' },
    },
    {
      name: 'bin-is-the-top',
      severity: 'error',
      comment: 'bin/ wires things together and is imported by nobody. Put shared code into src/.',
      from: {},
      to: { path: '^service/bin/' },
    },
    {
      name: 'no-test-code-shipped',
      severity: 'error',
      comment: 'Shipped code must not depend on tests. Move what it needs into src/.',
      from: { path: '^((contract|service|sdk|cli|emulator)/(src|bin)|test-kit/servers)/' },
      to: { path: '/(test|testing)/' },
    },
    {
      name: 'packaging-is-not-shipped',
      severity: 'error',
      comment:
        'packaging/ makes packages and tries them; it is in none of them. Call it from build.ts or from a test.',
      from: { path: '/(src|bin)/' },
      to: { path: '^packaging/' },
    },
    {
      name: 'packaging-runs-what-it-packs',
      severity: 'error',
      comment: 'packaging/ meets a package as a folder to build and a tarball to install, never by import.',
      from: { path: '^packaging/' },
      to: { path: `^(${Object.keys(WORKSPACES).join('|')})/` },
    },
    {
      name: 'sdk-stands-alone',
      severity: 'error',
      comment:
        'What runs at the caller has fetch and WebCrypto and nothing else, on every runtime. Have tools/sdk-contract.ts copy what you need of contract/.',
      from: { path: '^sdk/src/' },
      to: { pathNot: '^sdk/src/' },
    },
    {
      name: 'service-never-explains-a-signature',
      severity: 'error',
      comment:
        'An oracle that explains how a signature is wrong helps a forger, so the service answers only that it is wrong. The analysis is for the owner of the key, in the command line and the emulator.',
      // Nor may the rest of the contract import it: the service would have it through another export.
      from: { path: '^(service|contract/src)/', pathNot: '^contract/src/signature-mistakes/' },
      to: { path: '^contract/src/signature-mistakes/' },
    },
    {
      name: 'signing-needs-crypto-only-there',
      severity: 'error',
      comment:
        'contract/ is pure outside signing/ and signature-mistakes/, so that browsers and WebCrypto clients can use it. Move this into signing/.',
      from: { path: '^contract/src/', pathNot: '^contract/src/(signing|signature-mistakes)/' },
      to: { path: '^(node:)?crypto$', dependencyTypes: ['core'] },
    },
    {
      name: 'sql-is-in-its-place',
      severity: 'error',
      comment: 'The driver is opened in platform/ only. Use its Db.',
      from: { path: '^service/src/', pathNot: '^service/src/platform/' },
      to: { path: 'node_modules/pg/' },
    },
    {
      name: 'known-dependencies',
      severity: 'error',
      comment: 'Declare the package in the package.json of the workspace that imports it.',
      from: {},
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'unknown'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '/dist/|^docs/\\.site' },
    tsPreCompilationDeps: true,
    combinedDependencies: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node'],
      extensions: ['.ts', '.tsx', '.mjs', '.js', '.json'],
    },
    moduleSystems: ['es6'],
  },
}
