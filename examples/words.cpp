/* SPDX-License-Identifier: MIT */
/*
 * The C++ interface: a spelling check that keeps some twenty bits per word.
 *
 *     words < text
 *
 * The words of a small dictionary are put in; those of the text that are not in it are printed.
 */
#include <nidus.hpp>

#include <cstdio>
#include <iostream>
#include <string>

int main()
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.capacity = 1000;
	options.fpr = 1e-6;

	nidus::filter dictionary;
	if (nidus::filter::create(options, dictionary) != NIDUS_OK) {
		std::fprintf(stderr, "%s\n", nidus_reason());
		return 1;
	}
	for (const char *word : { "a", "cuckoo", "egg", "in", "lays", "nest", "the", "warbler's" })
		dictionary.insert(word);

	std::string word;
	while (std::cin >> word)
		if (!dictionary.contains(word))
			std::cout << word << '\n';
}
