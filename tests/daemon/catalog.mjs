// SPDX-License-Identifier: Apache-2.0
// catalog.mjs URL: reads the catalogue from there as Backstage does, fetches what $text names, and has Backstage's own package
// check each entity. Prints a line for each.
import { createRequire } from 'node:module';

const require = createRequire(`${process.env.CATALOG_ROOT}/package.json`);
const model = require('@backstage/catalog-model');
const yaml = require('yaml');

const url = process.argv[2];
const policy = model.EntityPolicies.allOf([new model.SchemaValidEntityPolicy(), new model.FieldFormatEntityPolicy(),
	new model.NoForeignRootFieldsEntityPolicy(), new model.DefaultNamespaceEntityPolicy()]);
const kinds = { API: model.apiEntityV1alpha1Validator, Component: model.componentEntityV1alpha1Validator,
	Resource: model.resourceEntityV1alpha1Validator };
for (const doc of yaml.parseAllDocuments(await (await fetch(url)).text())) {
	if (doc.errors.length)
		throw doc.errors[0];
	const entity = doc.toJS(), text = entity.spec.definition?.$text;
	if (text)
		entity.spec.definition = await (await fetch(new URL(text, url))).text();
	await policy.enforce(entity);
	if (!await kinds[entity.kind].check(entity))
		throw new Error(`${entity.kind} is none`);
	const refs = [entity.spec.owner, ...entity.spec.providesApis ?? [], ...entity.spec.dependencyOf ?? []];
	for (const ref of refs)
		model.parseEntityRef(ref, { defaultKind: 'group', defaultNamespace: 'default' });
	console.log(model.stringifyEntityRef(entity), entity.spec.type, text ? JSON.parse(entity.spec.definition).openapi : '-', refs.join(' '));
}
