// The least that libcurl can do: one URL into one file, 512 KiB buffer, nothing kept and nothing
// synced. What Longhaul is measured against.
#include <curl/curl.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static off_t position;

static size_t take(char *bytes, size_t size, size_t count, void *file) {
    (void)size;
    ssize_t written = pwrite(*(int *)file, bytes, count, position);
    if (written > 0) position += written;
    return written < 0 ? 0 : (size_t)written;
}

int main(int count, char **words) {
    if (count != 3) return 64;
    int file = open(words[2], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file < 0) return 1;
    curl_global_init(CURL_GLOBAL_DEFAULT);
    CURL *easy = curl_easy_init();
    CURLM *multi = curl_multi_init();
    curl_easy_setopt(easy, CURLOPT_URL, words[1]);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 512 * 1024L);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &file);
    curl_easy_setopt(easy, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
    curl_multi_add_handle(multi, easy);
    int running = 1;
    while (running) {
        if (curl_multi_perform(multi, &running) != CURLM_OK) return 1;
        if (running) curl_multi_poll(multi, NULL, 0, 1000, NULL);
    }
    int left;
    CURLMsg *message = curl_multi_info_read(multi, &left);
    return !message || message->data.result != CURLE_OK;
}
