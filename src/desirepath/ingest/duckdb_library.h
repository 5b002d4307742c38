// DuckDB's functions, loaded when the first of them is called: most commands read no database, and its library takes
// longer to load than they to run.
#pragma once

#include <atomic>
#include <utility>

#include <duckdb.h>

namespace desirepath::inline ingest {

/// The address of a function of DuckDB's library. Throws BackendError where the library cannot be loaded.
void* duckdb_address(const char* name);

/// Called like the function of that name, which it hides within this namespace.
template <typename Signature>
class DuckDbFunction {
 public:
  constexpr explicit DuckDbFunction(const char* name) : name_(name) {}

  template <typename... Arguments>
  auto operator()(Arguments&&... arguments) const {
    Signature* function = address_.load(std::memory_order_acquire);
    if (function == nullptr) {
      function = reinterpret_cast<Signature*>(duckdb_address(name_));
      address_.store(function, std::memory_order_release);
    }
    return function(std::forward<Arguments>(arguments)...);
  }

 private:
  const char* name_;
  mutable std::atomic<Signature*> address_ = nullptr;
};

inline constinit const DuckDbFunction<decltype(::duckdb_bind_add_result_column)> duckdb_bind_add_result_column(
    "duckdb_bind_add_result_column");
inline constinit const DuckDbFunction<decltype(::duckdb_bind_get_extra_info)> duckdb_bind_get_extra_info(
    "duckdb_bind_get_extra_info");
inline constinit const DuckDbFunction<decltype(::duckdb_close)> duckdb_close("duckdb_close");
inline constinit const DuckDbFunction<decltype(::duckdb_column_count)> duckdb_column_count("duckdb_column_count");
inline constinit const DuckDbFunction<decltype(::duckdb_column_name)> duckdb_column_name("duckdb_column_name");
inline constinit const DuckDbFunction<decltype(::duckdb_column_type)> duckdb_column_type("duckdb_column_type");
inline constinit const DuckDbFunction<decltype(::duckdb_connect)> duckdb_connect("duckdb_connect");
inline constinit const DuckDbFunction<decltype(::duckdb_create_config)> duckdb_create_config("duckdb_create_config");
inline constinit const DuckDbFunction<decltype(::duckdb_create_logical_type)> duckdb_create_logical_type(
    "duckdb_create_logical_type");
inline constinit const DuckDbFunction<decltype(::duckdb_create_table_function)> duckdb_create_table_function(
    "duckdb_create_table_function");
inline constinit const DuckDbFunction<decltype(::duckdb_data_chunk_get_size)> duckdb_data_chunk_get_size(
    "duckdb_data_chunk_get_size");
inline constinit const DuckDbFunction<decltype(::duckdb_data_chunk_get_vector)> duckdb_data_chunk_get_vector(
    "duckdb_data_chunk_get_vector");
inline constinit const DuckDbFunction<decltype(::duckdb_data_chunk_set_size)> duckdb_data_chunk_set_size(
    "duckdb_data_chunk_set_size");
inline constinit const DuckDbFunction<decltype(::duckdb_destroy_config)> duckdb_destroy_config("duckdb_destroy_config");
inline constinit const DuckDbFunction<decltype(::duckdb_destroy_data_chunk)> duckdb_destroy_data_chunk(
    "duckdb_destroy_data_chunk");
inline constinit const DuckDbFunction<decltype(::duckdb_destroy_extracted)> duckdb_destroy_extracted(
    "duckdb_destroy_extracted");
inline constinit const DuckDbFunction<decltype(::duckdb_destroy_logical_type)> duckdb_destroy_logical_type(
    "duckdb_destroy_logical_type");
inline constinit const DuckDbFunction<decltype(::duckdb_destroy_prepare)> duckdb_destroy_prepare(
    "duckdb_destroy_prepare");
inline constinit const DuckDbFunction<decltype(::duckdb_destroy_result)> duckdb_destroy_result("duckdb_destroy_result");
inline constinit const DuckDbFunction<decltype(::duckdb_destroy_table_function)> duckdb_destroy_table_function(
    "duckdb_destroy_table_function");
inline constinit const DuckDbFunction<decltype(::duckdb_disconnect)> duckdb_disconnect("duckdb_disconnect");
inline constinit const DuckDbFunction<decltype(::duckdb_execute_prepared_streaming)> duckdb_execute_prepared_streaming(
    "duckdb_execute_prepared_streaming");
inline constinit const DuckDbFunction<decltype(::duckdb_extract_statements)> duckdb_extract_statements(
    "duckdb_extract_statements");
inline constinit const DuckDbFunction<decltype(::duckdb_fetch_chunk)> duckdb_fetch_chunk("duckdb_fetch_chunk");
inline constinit const DuckDbFunction<decltype(::duckdb_free)> duckdb_free("duckdb_free");
inline constinit const DuckDbFunction<decltype(::duckdb_function_get_extra_info)> duckdb_function_get_extra_info(
    "duckdb_function_get_extra_info");
inline constinit const DuckDbFunction<decltype(::duckdb_function_get_init_data)> duckdb_function_get_init_data(
    "duckdb_function_get_init_data");
inline constinit const DuckDbFunction<decltype(::duckdb_function_set_error)> duckdb_function_set_error(
    "duckdb_function_set_error");
inline constinit const DuckDbFunction<decltype(::duckdb_init_get_column_count)> duckdb_init_get_column_count(
    "duckdb_init_get_column_count");
inline constinit const DuckDbFunction<decltype(::duckdb_init_get_column_index)> duckdb_init_get_column_index(
    "duckdb_init_get_column_index");
inline constinit const DuckDbFunction<decltype(::duckdb_init_set_init_data)> duckdb_init_set_init_data(
    "duckdb_init_set_init_data");
inline constinit const DuckDbFunction<decltype(::duckdb_init_set_max_threads)> duckdb_init_set_max_threads(
    "duckdb_init_set_max_threads");
inline constinit const DuckDbFunction<decltype(::duckdb_open_ext)> duckdb_open_ext("duckdb_open_ext");
inline constinit const DuckDbFunction<decltype(::duckdb_prepare)> duckdb_prepare("duckdb_prepare");
inline constinit const DuckDbFunction<decltype(::duckdb_prepare_error)> duckdb_prepare_error("duckdb_prepare_error");
inline constinit const DuckDbFunction<decltype(::duckdb_query)> duckdb_query("duckdb_query");
inline constinit const DuckDbFunction<decltype(::duckdb_register_table_function)> duckdb_register_table_function(
    "duckdb_register_table_function");
inline constinit const DuckDbFunction<decltype(::duckdb_result_error)> duckdb_result_error("duckdb_result_error");
inline constinit const DuckDbFunction<decltype(::duckdb_result_error_type)> duckdb_result_error_type(
    "duckdb_result_error_type");
inline constinit const DuckDbFunction<decltype(::duckdb_row_count)> duckdb_row_count("duckdb_row_count");
inline constinit const DuckDbFunction<decltype(::duckdb_set_config)> duckdb_set_config("duckdb_set_config");
inline constinit const DuckDbFunction<decltype(::duckdb_table_function_set_bind)> duckdb_table_function_set_bind(
    "duckdb_table_function_set_bind");
inline constinit const DuckDbFunction<decltype(::duckdb_table_function_set_extra_info)>
    duckdb_table_function_set_extra_info("duckdb_table_function_set_extra_info");
inline constinit const DuckDbFunction<decltype(::duckdb_table_function_set_function)>
    duckdb_table_function_set_function("duckdb_table_function_set_function");
inline constinit const DuckDbFunction<decltype(::duckdb_table_function_set_init)> duckdb_table_function_set_init(
    "duckdb_table_function_set_init");
inline constinit const DuckDbFunction<decltype(::duckdb_table_function_set_name)> duckdb_table_function_set_name(
    "duckdb_table_function_set_name");
inline constinit const DuckDbFunction<decltype(::duckdb_table_function_supports_projection_pushdown)>
    duckdb_table_function_supports_projection_pushdown("duckdb_table_function_supports_projection_pushdown");
inline constinit const DuckDbFunction<decltype(::duckdb_validity_set_row_invalid)> duckdb_validity_set_row_invalid(
    "duckdb_validity_set_row_invalid");
inline constinit const DuckDbFunction<decltype(::duckdb_value_int64)> duckdb_value_int64("duckdb_value_int64");
inline constinit const DuckDbFunction<decltype(::duckdb_value_varchar)> duckdb_value_varchar("duckdb_value_varchar");
inline constinit const DuckDbFunction<decltype(::duckdb_vector_assign_string_element_len)>
    duckdb_vector_assign_string_element_len("duckdb_vector_assign_string_element_len");
inline constinit const DuckDbFunction<decltype(::duckdb_vector_ensure_validity_writable)>
    duckdb_vector_ensure_validity_writable("duckdb_vector_ensure_validity_writable");
inline constinit const DuckDbFunction<decltype(::duckdb_vector_get_data)> duckdb_vector_get_data(
    "duckdb_vector_get_data");
inline constinit const DuckDbFunction<decltype(::duckdb_vector_get_validity)> duckdb_vector_get_validity(
    "duckdb_vector_get_validity");
inline constinit const DuckDbFunction<decltype(::duckdb_vector_size)> duckdb_vector_size("duckdb_vector_size");

}  // namespace desirepath::inline ingest
