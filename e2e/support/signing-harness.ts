/**
 * How the signing examples of the docs are run in their own language. A harness reads one request per line, its fields in base64 with
 * tabs between them (secret, method, target, timestamp, nonce, body), and prints one signature per line.
 */
export interface Harness {
  /** All of them have to be on the machine. */
  readonly needs: readonly string[]
  /** Where the block from the page goes. */
  readonly example: string
  readonly files: Readonly<Record<string, string>>
  /** For bash, in the folder of the files. */
  readonly command: string
}

export const harnesses: Readonly<Record<string, Harness>> = {
  js: {
    needs: ['node'],
    example: 'sign.mjs',
    files: {
      'main.mjs': `import { createInterface } from 'node:readline'
import { sign } from './sign.mjs'
for await (const line of createInterface({ input: process.stdin })) {
  const [secret, method, target, timestamp, nonce, body] = line.split('\\t').map((field) => Buffer.from(field, 'base64'))
  process.stdout.write(sign(String(secret), String(method), String(target), String(timestamp), String(nonce), body) + '\\n')
}`,
    },
    command: 'node main.mjs',
  },
  python: {
    needs: ['python3'],
    example: 'sign.py',
    files: {
      'main.py': `import base64, sys
from sign import sign
for line in sys.stdin:
    *text, body = [base64.b64decode(field) for field in line.rstrip("\\n").split("\\t")]
    print(sign(*[field.decode() for field in text], body))`,
    },
    command: 'python3 main.py',
  },
  go: {
    needs: ['go'],
    example: 'sign.go',
    files: {
      'main.go': `package main

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"os"
	"strings"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var f []string
		for _, field := range strings.Split(lines.Text(), "\\t") {
			bytes, _ := base64.StdEncoding.DecodeString(field)
			f = append(f, string(bytes))
		}
		fmt.Println(Sign(f[0], f[1], f[2], f[3], f[4], []byte(f[5])))
	}
}`,
    },
    command: 'GOCACHE="$PWD/cache" GOFLAGS= GO111MODULE=off go run sign.go main.go',
  },
  php: {
    needs: ['php'],
    example: 'sign.php',
    files: {
      'main.php': `<?php
require 'sign.php';
while (($line = fgets(STDIN)) !== false) {
    echo sign(...array_map('base64_decode', explode("\\t", rtrim($line, "\\n")))), "\\n";
}`,
    },
    command: 'php main.php',
  },
  ruby: {
    needs: ['ruby'],
    example: 'sign.rb',
    files: {
      'main.rb': `require_relative 'sign'
$stdin.each_line do |line|
  *text, body = line.chomp.split("\\t", -1).map { |field| field.unpack1('m') }
  puts sign(*text.map { |field| field.force_encoding('UTF-8') }, body)
end`,
    },
    command: 'ruby main.rb',
  },
  java: {
    needs: ['javac', 'java'],
    example: 'Signing.java',
    files: {
      'Main.java': `import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Scanner;

class Main {
    public static void main(String[] args) throws Exception {
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            String[] f = lines.nextLine().split("\\t", -1);
            byte[][] b = new byte[6][];
            for (int i = 0; i < 6; i++) b[i] = Base64.getDecoder().decode(f[i]);
            String[] s = new String[5];
            for (int i = 0; i < 5; i++) s[i] = new String(b[i], StandardCharsets.UTF_8);
            System.out.println(Signing.sign(s[0], s[1], s[2], s[3], s[4], b[5]));
        }
    }
}`,
    },
    command: 'javac -d . Signing.java Main.java && java -cp . Main',
  },
  sh: {
    needs: ['bash', 'openssl', 'base64'],
    example: 'sign.sh',
    files: {
      'main.sh': `. ./sign.sh
decoded() { printf '%s' "$1" | base64 -d; }
while IFS=$'\\t' read -r secret method target timestamp nonce body; do
  decoded "$body" | sign "$(decoded "$secret")" "$(decoded "$method")" "$(decoded "$target")" "$(decoded "$timestamp")" "$(decoded "$nonce")"
done`,
    },
    command: 'bash main.sh',
  },
}

/** The same for a receiver: one JSON object per line in, true or false out. */
export const receiverHarnesses: Readonly<Record<string, Harness>> = {
  js: {
    needs: ['node'],
    example: 'verify.mjs',
    files: {
      'main.mjs': `import { createInterface } from 'node:readline'
import { verify } from './verify.mjs'
for await (const line of createInterface({ input: process.stdin })) {
  const { secrets, headers, body, now } = JSON.parse(line)
  process.stdout.write(verify(secrets, headers, Buffer.from(body, 'base64'), now) + '\\n')
}`,
    },
    command: 'node main.mjs',
  },
  python: {
    needs: ['python3'],
    example: 'verify.py',
    files: {
      'main.py': `import base64, json, sys
from verify import verify
for line in sys.stdin:
    case = json.loads(line)
    print("true" if verify(case["secrets"], case["headers"], base64.b64decode(case["body"]), case["now"]) else "false")`,
    },
    command: 'python3 main.py',
  },
}
