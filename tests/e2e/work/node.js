// A function hot enough to be compiled, WebAssembly, threads, processes, files and sockets.
'use strict';
const assert = require('assert');
const fs = require('fs');
const net = require('net');
const path = require('path');
const zlib = require('zlib');
const { execFileSync } = require('child_process');
const { Worker } = require('worker_threads');

const here = path.join(process.argv[2], 'node');
fs.mkdirSync(here);
process.chdir(here);

function step(a, n) {
	return (a * 31 + n) | 0;
}
let hash = 0;
for (let n = 0; n < 300000; n++) {
	hash = step(hash, n);
}
assert.strictEqual(hash, +process.argv[3]);

// (module (func (export "add") (param i32 i32) (result i32) local.get 0 local.get 1 i32.add))
const bytes = Buffer.from('0061736d0100000001070160027f7f017f030201000707010361646400000a09010700' +
	'200020016a0b', 'hex');
const wasm = new WebAssembly.Instance(new WebAssembly.Module(bytes));
assert.strictEqual(wasm.exports.add(40, 2), 42);

async function main() {
	await fs.promises.writeFile('file', 'hello');
	await fs.promises.copyFile('file', 'copy');
	await fs.promises.rename('copy', 'moved');
	assert.strictEqual(await fs.promises.readFile('moved', 'utf8'), 'hello');
	const packed = zlib.gzipSync(Buffer.alloc(100000, 'x'));
	assert.strictEqual(zlib.gunzipSync(packed).length, 100000);
	assert.strictEqual(execFileSync('cat', ['file'], { encoding: 'utf8' }), 'hello');
	const worker = new Worker('require("worker_threads").parentPort.postMessage(6 * 7)',
		{ eval: true });
	assert.strictEqual(await new Promise((done) => worker.once('message', done)), 42);
	const server = net.createServer((socket) => socket.end('from a socket'));
	await new Promise((done) => server.listen('socket', done));
	let said = '';
	for await (const part of net.connect('socket')) {
		said += part;
	}
	assert.strictEqual(said, 'from a socket');
	server.close();
	process.chdir('..');
	fs.rmSync(here, { recursive: true });
	console.log('compiled');
}
main();
