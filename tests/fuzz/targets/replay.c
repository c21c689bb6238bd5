/* SPDX-License-Identifier: Apache-2.0 */
/* In the place of libFuzzer, where there is no clang: runs the files that it is given, each once.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
__attribute__((weak)) int LLVMFuzzerInitialize(int *count, char ***words);

enum { INPUT_BYTES = 1 << 20 };

static void replay(const char *path)
{
    uint8_t *room = malloc(INPUT_BYTES);
    FILE *file = fopen(path, "rb");
    if (room == NULL || file == NULL) {
        fprintf(stderr, "%s cannot be read\n", path);
        exit(2);
    }
    size_t size = fread(room, 1, INPUT_BYTES, file);
    fclose(file);
    uint8_t *input = realloc(room, size > 0 ? size : 1); /* exactly */
    fprintf(stderr, "%s\n", path);
    LLVMFuzzerTestOneInput(input, size);
    free(input);
}

int main(int count, char **words)
{
    if (LLVMFuzzerInitialize != NULL) LLVMFuzzerInitialize(&count, &words);
    for (int i = 1; i < count; i++)
        replay(words[i]);
    return 0;
}
